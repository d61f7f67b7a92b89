package import Foundation
package import FoundationNetworking

// The library `Nightshift` declares initialisers with the same names, which hide FoundationNetworking's. The library
// uses the methods in this file to call FoundationNetworking's initialisers.

extension URLSession {
    /// Calls FoundationNetworking's own `init(configuration:delegate:delegateQueue:)`.
    package convenience init(
        inThisProcess configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue: OperationQueue?
    ) {
        self.init(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
    }

    /// Calls FoundationNetworking's own `init(configuration:)`.
    package convenience init(inThisProcess configuration: URLSessionConfiguration) {
        self.init(configuration: configuration)
    }
}
