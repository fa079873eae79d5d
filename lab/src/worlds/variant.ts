import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type OnResolveResult, type Plugin } from 'esbuild'

/** Another value for the constant `name` of the module `file` of core's source. */
export interface Change {
  readonly file: string
  readonly name: string
  readonly value: number
}

/** By condition: the file that stands for a module. */
type Targets = Readonly<Record<string, string>>

interface Manifest {
  readonly exports: Readonly<Record<string, Targets>>
  readonly imports: Readonly<Record<string, Targets>>
}

const CORE = fileURLToPath(new URL('../../../packages/core', import.meta.url))

/** The path of a module of core's source: `fair/clock/proof`, for one. */
export const sourceOf = (module: string): string => join(CORE, 'src', `${module}.ts`)

/**
 * Bundles `entry`, and core from its source with these changes, into one file. A constant that is not there rejects.
 */
export async function bundleVariant(entry: string, changes: readonly Change[], outfile: string): Promise<void> {
  const { exports, imports }: Manifest = JSON.parse(await readFile(join(CORE, 'package.json'), 'utf8'))
  const resolve = (targets: Targets | undefined): OnResolveResult | undefined => {
    const built = targets?.['node'] ?? targets?.['default']
    return built === undefined ? undefined : { path: sourceOf(built.replace(/^\.\/dist\/(.*)\.js$/, '$1')) }
  }
  const fromSource: Plugin = {
    name: 'core-from-source',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^@fairlead\/core($|\/)/ }, ({ path }) =>
        resolve(exports[path.replace('@fairlead/core', '.')]),
      )
      onResolve({ filter: /^#/ }, ({ path, importer }) =>
        importer.startsWith(CORE) ? resolve(imports[path]) : undefined,
      )
      for (const change of changes) {
        const path = sourceOf(change.file)
        onLoad({ filter: new RegExp(`^${path.replaceAll(/[.\\]/g, '\\$&')}$`) }, async () => ({
          contents: withConstant(await readFile(path, 'utf8'), change),
          loader: 'ts',
        }))
      }
    },
  }
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    plugins: [fromSource],
  })
}

/** The source with this constant; throws a `RangeError` where it has none of that name. */
export function withConstant(source: string, { name, value }: Pick<Change, 'name' | 'value'>): string {
  const declaration = new RegExp(`^((?:export )?const ${name} = )[-0-9._e]+$`, 'm')
  if (!declaration.test(source)) throw new RangeError(`no constant ${name}`)
  return source.replace(declaration, `$1${value}`)
}

/** The constants of a module that are plain numbers, by name. */
export function constantsOf(source: string): Map<string, number> {
  const found = source.matchAll(/^(?:export )?const ([A-Z][A-Z0-9_]*) = ([-0-9._e]+)$/gm)
  return new Map([...found].map(([, name, value]) => [name!, Number(value!.replaceAll('_', ''))]))
}
