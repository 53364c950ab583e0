// What a page keeps in the browser. A visitor may have refused that: then it lasts as long as the page.

function over(storage: () => Storage) {
  return {
    get(name: string): string | null {
      try {
        return storage().getItem(name);
      } catch {
        return null;
      }
    },
    set(name: string, value: string | null) {
      try {
        if (value === null) storage().removeItem(name);
        else storage().setItem(name, value);
      } catch {
        // The page has it until it is left.
      }
    },
  };
}

/** For as long as the tab is there. */
export const inTab = over(() => sessionStorage);

/** For all pages of this node, until it is removed. */
export const inBrowser = over(() => localStorage);
