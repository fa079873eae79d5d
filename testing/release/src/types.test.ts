import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { filterProblems } from '@arethetypeswrong/core/problems'
import { afterAll, expect, it } from 'vitest'
import { packAll, removeFolders } from './tarballs.js'

const ESM_MODES = ['node16-esm', 'bundler'] as const

afterAll(removeFolders)

it('each tarball has types in every resolution mode, the Doorman server in those of ES modules', async () => {
  for (const { folder, file } of await packAll()) {
    const tarball = createPackageFromTarballData(new Uint8Array(readFileSync(file)))
    const analysis = await checkPackage(tarball, { excludeEntrypoints: ['doorman.proto'] })
    if (!analysis.types) throw new Error(`${folder} has no types`)
    const modes = folder === 'doorman' ? ESM_MODES : [...ESM_MODES, 'node10' as const, 'node16-cjs' as const]
    const problems = modes.flatMap((resolutionKind) => filterProblems(analysis, { resolutionKind }))
    expect(problems, folder).toEqual([])
  }
})
