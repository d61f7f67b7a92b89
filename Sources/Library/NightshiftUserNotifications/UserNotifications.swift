// This module is the one that `import UserNotifications` imports in an app that is built with `-module-alias
// UserNotifications=NightshiftUserNotifications`. The module `Nightshift` has the types.

@_exported public import Nightshift
