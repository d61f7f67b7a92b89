// The module that `import CoreLocation` means in an app built with `-module-alias CoreLocation=NightshiftCoreLocation`; `Nightshift` has the types.

@_exported public import Nightshift
