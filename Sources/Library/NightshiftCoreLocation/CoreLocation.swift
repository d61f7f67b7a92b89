// This module is the one that `import CoreLocation` imports in an app that is built with `-module-alias
// CoreLocation=NightshiftCoreLocation`. The module `Nightshift` has the types.

@_exported public import Nightshift
