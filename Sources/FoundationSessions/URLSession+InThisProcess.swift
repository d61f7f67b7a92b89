package import Foundation
package import FoundationNetworking

// The library `Nightshift` declares initialisers with the same names, which hide FoundationNetworking's. The library
// calls FoundationNetworking's initialisers through these.

extension URLSession {
    /// FoundationNetworking's own `init(configuration:delegate:delegateQueue:)`.
    package convenience init(
        inThisProcess configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue: OperationQueue?
    ) {
        self.init(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
    }

    /// FoundationNetworking's own `init(configuration:)`.
    package convenience init(inThisProcess configuration: URLSessionConfiguration) {
        self.init(configuration: configuration)
    }
}
