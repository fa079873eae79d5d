/** Made by `bundle.mjs` from `page/` and `views/`. */

/** The page's script and style, as they appear in the page, and their hashes for its content security policy. */
export declare const SCRIPT: string
export declare const SCRIPT_HASH: string
export declare const STYLE: string
export declare const STYLE_HASH: string
/** The views' style for other pages. */
export declare const STYLE_OF_VIEWS: string
/** The worker of a replay: a separate module, fetched when a viewer replays. */
export declare const WORKER: string
