// This module is the one that `import BackgroundTasks` imports in an app that is built with `-module-alias
// BackgroundTasks=NightshiftBackgroundTasks`. The module `Nightshift` has the types.

@_exported public import Nightshift
