// The module that `import UserNotifications` means in an app built with `-module-alias UserNotifications=NightshiftUserNotifications`; `Nightshift` has the types.

@_exported public import Nightshift
