/** Path of the Node.js 24 binary that was installed for this platform, if one was. */
export declare const node24: string | undefined
