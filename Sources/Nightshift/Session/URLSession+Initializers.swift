public import Foundation
public import FoundationNetworking
import FoundationSessions

// `URLSession(configuration:delegate:delegateQueue:)` for a configuration whose type says nothing, in most of the code there is:
// a variable, parameter, property or result of type `URLSessionConfiguration`. Which kind of session it makes is decided by the
// object.
//
// The overloads are there to be preferred to FoundationNetworking's initialiser, which is in sight wherever a file imports that
// module too. Swift prefers a parameter that is not optional to one that is, and `Subclass?` to `Superclass?`: so a delegate or a
// queue that is not optional is caught, and a literal nil, by a class that has no other value. What is left is FoundationNetworking's:
// `URLSession(configuration:)`, and a delegate and a queue that are both variables of optional types. A file that does
// not import that module sees only the initialisers with its signature that are here.

/// The class that a literal `nil` takes for a delegate.
public final class NilDelegate: NSObject, URLSessionDelegate, Sendable {
    private override init() {}
}

/// The class that a literal `nil` takes for an operation queue.
public final class NilOperationQueue: OperationQueue, @unchecked Sendable {
    // Unchecked as its base class is; there is no instance.
    private override init() {}
}

/// Lets an initialiser return an object that is there already, or one of a subclass.
protocol SessionFactory {}

extension SessionFactory {
    fileprivate init(factory: () -> Self) { self = factory() }
}

extension URLSession: SessionFactory {
    private convenience init(
        _ configuration: URLSessionConfiguration, _ delegate: (any URLSessionDelegate)?, _ queue: OperationQueue?
    ) {
        if let configuration = configuration as? BackgroundConfiguration {
            self.init(factory: {
                let session = BackgroundURLSession.session(
                    configuration, delegate: delegate, delegateQueue: queue, connection: .shared)
                guard session is Self else { fatalError("A background session cannot be a \(Self.self).") }
                // Just seen to be one.
                return unsafeDowncast(session, to: Self.self)
            })
        } else {
            self.init(inThisProcess: configuration, delegate: delegate, delegateQueue: queue)
        }
    }

    /// A background session where the configuration is one for the background, else a session of this process.
    ///
    /// - Parameters:
    ///   - delegate: held until the session is invalid.
    ///   - queue: nil makes a serial one.
    public convenience init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: any URLSessionDelegate, delegateQueue queue: OperationQueue?
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: any URLSessionDelegate, delegateQueue queue: OperationQueue
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: any URLSessionDelegate,
        delegateQueue queue: NilOperationQueue?
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue queue: OperationQueue
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue queue: NilOperationQueue?
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: NilDelegate?, delegateQueue queue: OperationQueue?
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: NilDelegate?, delegateQueue queue: OperationQueue
    ) {
        self.init(configuration, delegate, queue)
    }

    public convenience init(
        configuration: URLSessionConfiguration, delegate: NilDelegate?, delegateQueue queue: NilOperationQueue?
    ) {
        self.init(configuration, delegate, queue)
    }

    /// A session without a delegate. Nobody hears of a background session's transfers then.
    public convenience init(configuration: URLSessionConfiguration) {
        if configuration is BackgroundConfiguration {
            self.init(configuration, nil, nil)
        } else {
            self.init(inThisProcess: configuration)
        }
    }

    /// A background session without a delegate: nobody hears of its transfers.
    public convenience init(configuration: BackgroundConfiguration) {
        self.init(configuration, nil, nil)
    }
}
