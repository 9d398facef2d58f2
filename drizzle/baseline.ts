import type { MigrationMeta } from 'drizzle-orm/migrator'

/**
 * The migrations 0000 to 0024, which the baseline replaces: their times and hashes. A database that begins with the
 * baseline records them too, because earlier releases count the recorded migrations, and backups name them.
 */
const replaced: [folderMillis: number, hash: string][] = [
  [1_795_256_202_914, '496d588e940afbf0095f8d5effb259d9828db19e53db6e3f8e86caa315194588'],
  [1_795_257_661_787, 'ca4ddfa53448777d35e0ed03bcb2fdbe4ac239686fdf8849b8e4dd41eddc99f6'],
  [1_795_258_695_650, 'e081a0ac7d2b5096f4914b7115e58b08a27ed584106f20130be8cc5b4e9473e5'],
  [1_795_270_955_677, '7955407105add97f77052bf9e272edb87927db051f9e2d86fccfdcb11cf9e921'],
  [1_795_298_141_083, 'bab6028fa21c677445bb90881a21d26673f90694eeafc1438933ae0ba4c39a75'],
  [1_795_298_945_481, '7d95d8dc9c257c0e22490e96ce7c941379718febaaf8d705f9f1559201337931'],
  [1_795_299_533_319, '4663877fdc406aef28aeb8dc2957f7103de636644bbd838a882155071202a5aa'],
  [1_795_300_160_421, '710a7996479f3fedaa5597ad4f839ab35dd91af89d12a06136d1b8bf0efcc348'],
  [1_795_309_003_734, 'a2bad48864c6242c4c7eea2dea7761708a94756ce39c50910958e8e5568dfe50'],
  [1_795_309_834_303, '6de8af9f7de68a4d42b7b9a4e83f3d49e461533d9ac58d82e05d58acb2356f3b'],
  [1_795_319_617_049, '7240dfcd61c1c57c3f5c1f757572c578d18ceaa69f6a5811ddcac687da525045'],
  [1_795_320_776_704, 'cfa50730bbefaba9e7f19ce76e889586796230ebcafb3d723ceef831701bcb42'],
  [1_795_321_760_849, '13a2fae71ada5fe00d7c579a89fdb7b34a9b0e7be5338717789b54505cc29ebf'],
  [1_795_322_118_427, 'f9f8897d5cad2e564864c4da143081f5731bc5b2220105164e2185d1ce76d2f8'],
  [1_795_322_769_685, '9a3045077106ce2359e59654935b253d987eeec959fbb549acc3a8638473adc1'],
  [1_795_323_444_791, '05cc2e8f2d52d3fbc5d68e1075d77e80861cd81dad04dca06bbcc11d2b2f9268'],
  [1_795_335_692_937, 'e31656a0dd6baca667f2befd91dc934bae336ea26af18624313929ef70cf5c16'],
  [1_795_349_240_468, '9ba62a437081248e6d110cbe6f2982de0c3e16b15e0cf6048e282491a71f73e2'],
  [1_795_376_286_836, '795ede9538899fb910757b29b66bbeb3302ebb5ff32d35b534aaa4c01ed5fb5c'],
  [1_795_384_268_091, '9c88873d4fc249fea5ba9777c4d347cd20f9ca9f86d92a15275d2f10b755766e'],
  [1_795_389_268_359, '8b444ca363670836c24dbcffd5e4f53f22552bd93a095d6b81f9b980ac4bdd9c'],
  [1_795_392_266_719, 'cb12c447c506a5b170e1d2ae35af7df50f665a117e14f7e11a51b8277471b9dc'],
  [1_795_420_846_652, 'cfeb5497542019cee30cc457aafcc63d4657cb4ea0dad76abdb4c8ff8e8a1fca'],
  [1_795_444_454_299, '2b74a0604b596b951cc12653ad3e96673a871e6231707a6ec25bb5962163e15f'],
  [1_795_459_896_342, 'cac1b0cf6b9de2716d9fa8ce212d9265eb20b8fbc61d2b5d54ac16217a1f0d14'],
]

/** Puts the replaced migrations before the later ones. The last replaced migration has the statements of the baseline. */
export function withReplaced([baseline, ...later]: MigrationMeta[]): MigrationMeta[] {
  const recorded = replaced.map(([folderMillis, hash]) => ({ sql: [], folderMillis, hash, bps: true }))
  return [...recorded.slice(0, -1), { ...recorded.at(-1)!, sql: baseline!.sql }, ...later]
}

export const isReplaced = ({ folderMillis }: MigrationMeta): boolean => folderMillis <= replaced.at(-1)![0]

const earlierRelease = 'the release of commit 240b63a2'

/** Thrown for a database that lacks some of the replaced migrations. */
export class OutdatedDatabase extends Error {
  constructor() {
    super(
      `The database of DATABASE_URL has the tables of an earlier release, which this release cannot migrate: run "npm run migrate" with ${earlierRelease}, then with this release`,
    )
  }
}
