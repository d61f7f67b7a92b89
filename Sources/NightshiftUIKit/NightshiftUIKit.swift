@_exported public import Nightshift
