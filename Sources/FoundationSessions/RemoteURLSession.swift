package import Foundation
public import FoundationNetworking

/// The part of a background session that FoundationNetworking has: a session of this process that nobody gives a task.
///
/// Never made by itself. It is a class of its own because `Nightshift`'s initialisers of `URLSession` hide the one that a subclass
/// has to call.
open class RemoteURLSession: URLSession, @unchecked Sendable {
    // Unchecked as its base class is.

    package init(delegateQueue: OperationQueue) {
        super.init(configuration: .default, delegate: nil, delegateQueue: delegateQueue)
    }
}
