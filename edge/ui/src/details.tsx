// What a single thing shows, with the charts: loaded when first asked for.
export { PositionPage } from "./position.js";
export { PoolPage } from "./pool.js";
export { OwnerPage } from "./owner.js";
export { UsagePage } from "./usage.js";
