/** A hook of module loading: gives one constant of the fair clock another value. Its data come through `register`. */

/** A constant `name` of the module whose address ends in `file`. */
export interface Change {
  readonly file: string
  readonly name: string
  readonly value: number
}

interface Loaded {
  readonly format: string
  readonly source?: string | NodeJS.TypedArray | ArrayBuffer
  readonly shortCircuit?: boolean
}

let change: Change

export function initialize(given: Change): void {
  change = given
}

export async function load(
  url: string,
  context: object,
  next: (url: string, context: object) => Promise<Loaded>,
): Promise<Loaded> {
  const loaded = await next(url, context)
  if (!url.endsWith(change.file) || loaded.source === undefined) return loaded
  const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
  return { ...loaded, source: withConstant(source, change) }
}

/** The source with this constant; throws a `RangeError` where it has none of that name. */
export function withConstant(source: string, { name, value }: Change): string {
  const declaration = new RegExp(`^((?:export )?const ${name} = )[-0-9._e]+;?$`, 'm')
  if (!declaration.test(source)) throw new RangeError(`no constant ${name}`)
  return source.replace(declaration, `$1${value};`)
}

/** The constants of a module that are plain numbers, by name. */
export function constantsOf(source: string): Map<string, number> {
  const found = source.matchAll(/^(?:export )?const ([A-Z][A-Z0-9_]*) = ([-0-9._e]+);?$/gm)
  return new Map([...found].map(([, name, value]) => [name!, Number(value!.replaceAll('_', ''))]))
}
