import Foundation
import FoundationNetworking
import Nightshift

/// A file that imports FoundationNetworking too, and calls what is left to its initialisers there.
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
