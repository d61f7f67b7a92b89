// An app that imports Nightshift does not need to import Foundation or FoundationNetworking itself.
@_exported public import Foundation
@_exported public import FoundationNetworking
