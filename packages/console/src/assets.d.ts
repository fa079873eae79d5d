/** Made by `bundle.mjs` from `page/` and `views/`. */

/** The page's script and style, as they stand in it, and what a content security policy knows them by. */
export declare const SCRIPT: string
export declare const SCRIPT_HASH: string
export declare const STYLE: string
export declare const STYLE_HASH: string
/** What the views look like on other pages. */
export declare const STYLE_OF_VIEWS: string
/** The what-if's worker: a module of its own, fetched when a viewer replays. */
export declare const WORKER: string
