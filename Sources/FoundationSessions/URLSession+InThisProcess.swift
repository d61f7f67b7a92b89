package import Foundation
package import FoundationNetworking

// The library `Nightshift` has initialisers of the same names, which hide these from whoever sees it: it reaches them from here.

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
