public import Foundation
public import FoundationNetworking
import FoundationSessions

// Initialisers of `URLSession` for a configuration whose static type is `URLSessionConfiguration`, as in most existing
// code: a variable, parameter, property or result. The configuration object decides which kind of session is made.
//
// The overloads exist because Swift must prefer them to FoundationNetworking's initialiser, which is also visible in
// every file that imports FoundationNetworking. Swift prefers a parameter that is not optional to an optional one, and
// `Subclass?` to `Superclass?`. The overloads therefore win for a delegate or queue that is not optional. They also win
// for a literal nil, because it matches a class that has no instances. FoundationNetworking's initialisers still win in
// two cases: `URLSession(configuration:)`, and a delegate and a queue that are both variables of optional types. A file
// that does not import FoundationNetworking sees only the initialisers declared here.

/// The type of a literal `nil` that is passed as a delegate. It has no instances.
public final class NilDelegate: NSObject, URLSessionDelegate, Sendable {
    private override init() {}
}

/// The type of a literal `nil` that is passed as an operation queue. It has no instances.
public final class NilOperationQueue: OperationQueue, @unchecked Sendable {
    // This class is unchecked because its base class is unchecked too. The class has no instances.
    private override init() {}
}

/// Lets an initialiser return an existing object, or an object of a subclass.
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
                // The check above has shown that the session has this type.
                return unsafeDowncast(session, to: Self.self)
            })
        } else {
            self.init(inThisProcess: configuration, delegate: delegate, delegateQueue: queue)
        }
    }

    /// Makes a background session if the configuration is for background sessions, otherwise a session of this process.
    ///
    /// - Parameters:
    ///   - delegate: The delegate. It is retained until the session is invalid.
    ///   - queue: The queue for delegate calls. If it is nil, the session makes a serial queue.
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

    /// Makes a session without a delegate. If it is a background session, the app receives no messages about its
    /// transfers.
    public convenience init(configuration: URLSessionConfiguration) {
        if configuration is BackgroundConfiguration {
            self.init(configuration, nil, nil)
        } else {
            self.init(inThisProcess: configuration)
        }
    }

    /// Makes a background session without a delegate. The app receives no messages about the session's transfers.
    public convenience init(configuration: BackgroundConfiguration) {
        self.init(configuration, nil, nil)
    }
}
