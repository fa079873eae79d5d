/** Made by `bundle.mjs` from `views/drawn.tsx`. */
import type { ViewPlace } from './views.js'

export declare const NAMES: readonly string[]
export declare function drawInto(place: ViewPlace, name: string, props: object | null): void
export declare function textOf(name: string, props: object): string
