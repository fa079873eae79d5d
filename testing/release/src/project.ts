import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freshFolder, ROOT, run, type Tarball } from './tarballs.js'

/** A user's folder, outside the workspace, in which the tarballs are installed. */
export class Project {
  readonly folder: string

  /** Frameworks and tools are the dependencies of this package. */
  constructor(tarballs: readonly Tarball[]) {
    this.folder = freshFolder('project')
    const own = join(import.meta.dirname, '../node_modules')
    this.link(own)
    for (const { manifest, folder, contents } of tarballs) {
      cpSync(contents, this.#installed(manifest.name), { recursive: true })
      for (const name of Object.keys(manifest.dependencies ?? {})) {
        if (!name.startsWith('@fairlead/')) this.#link(name, join(ROOT, 'packages', folder, 'node_modules'))
      }
    }
  }

  /** Links the packages of a folder `node_modules`, except ours. */
  link(modules: string): void {
    for (const name of namesIn(modules)) if (!name.startsWith('@fairlead')) this.#link(name, modules)
  }

  /** Writes a file, and returns its path. */
  write(file: string, text: string): string {
    const path = join(this.folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** Runs a program of the project, on this Node or another runtime. */
  async run(file: string, runtime: readonly string[] = [process.execPath]): Promise<string> {
    const [command, ...args] = [...runtime, join(this.folder, file)]
    return (await run(this.folder, command!, ...args)).trimEnd()
  }

  #installed(name: string): string {
    return join(this.folder, 'node_modules', name)
  }

  #link(name: string, from: string): void {
    const path = this.#installed(name)
    if (existsSync(path)) return
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(from, name), path, 'junction')
  }
}

function namesIn(modules: string): string[] {
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) => (name.startsWith('@') ? readdirSync(join(modules, name)).map((own) => `${name}/${own}`) : name))
}
