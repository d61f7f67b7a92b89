// An app that imports Nightshift needs no other import for networking.
@_exported public import FoundationNetworking
