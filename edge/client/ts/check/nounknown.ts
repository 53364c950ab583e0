// Types that find `unknown` and `any` in a type, however deep.

type IsAny<T> = 0 extends 1 & T ? true : false;
type IsUnknown<T> = IsAny<T> extends true ? false : unknown extends T ? true : false;

/** The paths below `At` at which T is `unknown` or `any`; never when there are none. */
export type Untyped<T, At extends string = "it"> =
  IsAny<T> extends true ? At
  : IsUnknown<T> extends true ? At
  : T extends readonly (infer Item)[] ? Untyped<Item, `${At}[]`>
  : T extends object ? { [K in keyof T & (string | number)]-?: Untyped<T[K], `${At}.${K}`> }[keyof T & (string | number)]
  : never;

/** Compiles only for a type without such a path, and names the path in the error if there is one. */
export function typed<T>(_: T, ..._untyped: [Untyped<T>] extends [never] ? [] : [never, Untyped<T>]): void {}
