import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

export const ROOT: string = resolve(import.meta.dirname, '../../..')

/** The fields of a package.json that are read here. */
export interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

/** A package as published. */
export interface Tarball {
  readonly manifest: Manifest
  /** The folder it was packed from, for example `koa`. */
  readonly folder: string
  readonly file: string
  /** A folder with its unpacked contents. */
  readonly contents: string
}

/** Runs a command, found on the PATH as in a shell, and returns its output. Rejects if it fails. */
export async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  return (await runLoud(cwd, command, ...args)).stdout
}

/** The same, also with its standard error. */
export function runLoud(
  cwd: string,
  command: string,
  ...args: readonly string[]
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const shell = process.platform === 'win32' && !command.endsWith('.exe') // npm's commands are scripts there
  return promisify(execFile)(command, args, { cwd, shell, maxBuffer: 2 ** 26 })
}

const folders: string[] = []

/** A new folder outside the workspace, until `removeFolders`. */
export function freshFolder(what: string): string {
  const folder = mkdtempSync(join(tmpdir(), `fairlead-${what}-`))
  folders.push(folder)
  return folder
}

/** Removes all fresh folders. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

/** Packs all packages of the workspace at `root`, as built, and unpacks them beside their tarballs. */
export async function packAll(root: string = ROOT): Promise<Tarball[]> {
  const folder = freshFolder('tarballs')
  const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { packageManager: string }
  const pack = ['--filter', './packages/*', 'pack', '--json', '--pack-destination', folder]
  const printed = await run(root, 'npx', '--yes', packageManager, ...pack)
  const packed = JSON.parse(printed.slice(printed.indexOf('['))) as { name: string; filename: string }[]
  return Promise.all(
    packed.map(async ({ name, filename }) => {
      const short = name.replace('@fairlead/', '')
      const contents = join(folder, short)
      mkdirSync(contents)
      await run(folder, 'tar', '-xzf', filename, '-C', contents, '--strip-components', '1')
      const manifest = JSON.parse(readFileSync(join(contents, 'package.json'), 'utf8')) as Manifest
      return { manifest, folder: short, file: filename, contents }
    }),
  )
}

/** The entry points of a package, for example `@fairlead/core/queue`. */
export function entriesOf({ name, exports }: Manifest): string[] {
  const modules = Object.entries(exports).filter(([, target]) => typeof target === 'object')
  return modules.map(([path]) => name + path.slice(1))
}
