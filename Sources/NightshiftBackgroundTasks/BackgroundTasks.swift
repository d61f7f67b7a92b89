// The module that `import BackgroundTasks` means in an app built with `-module-alias BackgroundTasks=NightshiftBackgroundTasks`; `Nightshift` has the types.

@_exported public import Nightshift
