// What the API answers when it does not answer with data, a class a case.

/** Every failure of a call. `status` is 0 when no answer came. */
export class TidemarkError extends Error {
  constructor(
    message: string,
    readonly status: number,
    /** The X-Request-Id of the answer, under which the node's log has it. */
    readonly requestId: string | null = null,
    /** Seconds after which the same call may succeed; null when the answer does not say. */
    readonly retryAfter: number | null = null,
    options?: { cause: unknown },
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** 400: a parameter is malformed or not known. Costs nothing; do not repeat it. */
export class BadRequest extends TidemarkError {}
/** 401: the key is missing, unknown or revoked, or its account is suspended. */
export class Unauthorized extends TidemarkError {}
/** 403: the key is valid, but not from here. */
export class Forbidden extends TidemarkError {}
/** 404: no such position, pool or route. */
export class NotFound extends TidemarkError {}
/** 410: the generations that were named are not kept any more. Start the walk again. */
export class Gone extends TidemarkError {}
/** 429: too many requests a second; `retryAfter` is a matter of seconds. */
export class RateLimited extends TidemarkError {}
/** 429: the month's units are spent; `retryAfter` reaches to the next month. */
export class QuotaSpent extends TidemarkError {}
/** 503: not now; `retryAfter` says when, if a retry can help. */
export class Unavailable extends TidemarkError {}
/** 5xx: a fault of the service. */
export class ServerError extends TidemarkError {}
/** No answer at all: no connection, or it broke. */
export class Unreachable extends TidemarkError {}

/**
 * An export ended before its last row. Go on with the rows after `after` of the same generation, within a minute. When
 * the call for the next rows failed, `cause` is its error.
 */
export class CutExport extends TidemarkError {
  constructor(message: string, readonly after: number, readonly generation: string, options?: { cause: unknown }) {
    super(`the export ended after row ${after}: ${message}`, 200, null, null, options);
  }
}

/** The error of an answer that is not a 200. */
export function errorOf(answer: Response, body: { error?: string; retryAfterSec?: number }): TidemarkError {
  const message = body.error ?? `HTTP ${answer.status}`;
  const seconds = Number(answer.headers.get("Retry-After"));
  const make = (Kind: typeof TidemarkError) =>
    new Kind(message, answer.status, answer.headers.get("X-Request-Id"), seconds > 0 ? seconds : null);
  switch (answer.status) {
    case 400: return make(BadRequest);
    case 401: return make(Unauthorized);
    case 403: return make(Forbidden);
    case 404: return make(NotFound);
    case 410: return make(Gone);
    // Only the quota's body repeats the wait.
    case 429: return make(body.retryAfterSec === undefined ? RateLimited : QuotaSpent);
    case 503: return make(Unavailable);
    default: return make(answer.status >= 500 ? ServerError : TidemarkError);
  }
}
