// An app that imports Nightshift needs no other import for networking, nor for what Apple's modules bring along.
@_exported public import Foundation
@_exported public import FoundationNetworking
