export * from "./client.js";
export * from "./errors.js";
export type * from "./schema.js";
export type { RowEvent, StreamEvent, StreamQuery } from "./stream.js";
