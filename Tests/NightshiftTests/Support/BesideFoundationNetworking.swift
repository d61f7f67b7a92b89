import Foundation
import FoundationNetworking
import Nightshift

/// Calls to FoundationNetworking's initialisers. This file imports FoundationNetworking too, so Swift prefers these
/// initialisers to the library's.
enum BesideFoundationNetworking {
    static func session(
        _ configuration: URLSessionConfiguration, _ delegate: (any URLSessionDelegate)?, _ queue: OperationQueue?
    ) -> URLSession {
        URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    static func session(_ configuration: URLSessionConfiguration) -> URLSession {
        URLSession(configuration: configuration)
    }
}
