package import Foundation
public import FoundationNetworking

/// The base class of background sessions. For FoundationNetworking, it is a session of this process without tasks.
///
/// Only its subclass is instantiated. This class is in its own module because `Nightshift`'s initialisers of
/// `URLSession` hide the initialiser that a subclass has to call.
open class RemoteURLSession: URLSession, @unchecked Sendable {
    // This class is unchecked because its base class is unchecked too.

    package init(delegateQueue: OperationQueue) {
        super.init(configuration: .default, delegate: nil, delegateQueue: delegateQueue)
    }
}
