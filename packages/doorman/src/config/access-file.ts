import { readFile } from 'node:fs/promises'
import { requireOptions, show } from '@fairlead/core/http'
import { parse } from 'yaml'
import type { AccessRule } from '../access.js'

/** Names in the file, and as options. */
const FIELDS: Readonly<Record<string, keyof AccessRule | 'tokenFile'>> = {
  name: 'name',
  token: 'token',
  token_file: 'tokenFile',
  certificate: 'certificate',
  resources: 'resources',
  highest_priority: 'highestPriority',
  servers: 'servers',
  pages: 'pages',
}

/**
 * Reads rules of access: a YAML list under `access`, the fields in snake case; `token_file` names a file with the
 * token. Throws an error that names the rule and the field.
 */
export async function accessFrom(path: string): Promise<AccessRule[]> {
  const document: unknown = parse(await readFile(path, 'utf8'))
  requireOptions(path, document, ['access'])
  const { access } = document as { access?: unknown }
  if (!Array.isArray(access)) throw new TypeError(`access must be a list, got ${show(access)}`)
  return Promise.all(access.map((entry: unknown, index) => ruleFrom(`access[${index}]`, entry)))
}

async function ruleFrom(name: string, entry: unknown): Promise<AccessRule> {
  requireOptions(name, entry, Object.keys(FIELDS))
  const fields = Object.entries(entry as object).map(([field, value]: [string, unknown]) => [FIELDS[field]!, value])
  const { tokenFile, ...rule } = Object.fromEntries(fields) as AccessRule & { tokenFile?: string }
  return tokenFile === undefined ? rule : { ...rule, token: (await readFile(tokenFile, 'utf8')).trim() }
}
