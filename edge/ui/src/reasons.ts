// Why a number is missing, in a sentence.

export const REASONS: Record<string, string> = {
  no_market: "No market trades this token against anything with a price.",
  thin_market: "Its markets are too young, or too thin: selling $1,000 would move the price by more than 2 %.",
  uncorroborated: "Only the pool that the position sits in would price it, and its other markets contradict that price.",
  own_pool_only: "Only the pool that the position sits in would price it, and it has no other market.",
  stale_price: "Its market has not traded for a week, or never.",
  bad_decimals: "The token's decimals are not a number that can be used.",
  hook_delta: "The pool's hook takes part of every swap, so its price is not what one gets.",
  unrealizable: "Selling the claim would not yield what it is counted at.",
  quarantined: "The pool is quarantined: its events contradict each other.",
};

export const UNREALIZABLE =
  "A leg could not be sold: the claim exceeds what all markets of the token would pay. It counts 0, which is no loss.";
export const NO_DECIMALS = "Unknown, which is not 0. The token's contract does not say how many decimals it has.";
export const NO_RECEIPT = "Unknown, which is not 0. A receipt is missing.";
export const UNKNOWN_THEN = "Unknown, which is not 0. A price was not known then.";
export const NO_SUM = "Unknown, which is not 0. No position has a known one.";
export const RISKY = "A token of the pair has no corroborated market.";
export const CAPPED = "On the cap of ±100,000 %: not a figure to trust.";
export const STILL_COUNTING = "Not counted yet; it comes with a later generation.";

/** The tip of a number that is null. A share of `base` is null when that is 0, and nothing is unknown then. */
export function whyUnknown(reason: string | null | undefined, base?: number | null): string {
  if (base === 0) return "There is none: what it is a share of is $0.";
  return `Unknown, which is not 0. ${(reason && REASONS[reason]) ?? "A price that it needs is not known."}`;
}
