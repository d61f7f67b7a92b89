package import Foundation
public import FoundationNetworking

/// The part of a background session that FoundationNetworking sees: a session of this process without tasks.
///
/// Only its subclass is instantiated. It is in its own module because `Nightshift`'s initialisers of `URLSession` hide
/// the one that a subclass has to call.
open class RemoteURLSession: URLSession, @unchecked Sendable {
    // Unchecked because its base class is unchecked too.

    package init(delegateQueue: OperationQueue) {
        super.init(configuration: .default, delegate: nil, delegateQueue: delegateQueue)
    }
}
