public import Foundation
public import FoundationNetworking

/// Lets an initialiser return an object that is there already, or one of a subclass.
protocol SessionFactory {}

extension SessionFactory {
    fileprivate init(factory: () -> Self) { self = factory() }
}

extension URLSession: SessionFactory {
    /// A background session: chosen by the configuration's type, before the initialiser for other sessions.
    ///
    /// - Parameters:
    ///   - delegate: held until the session is invalid.
    ///   - queue: nil makes a serial one.
    public convenience init(
        configuration: BackgroundConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        self.init(factory: {
            let session = BackgroundURLSession.session(
                configuration, delegate: delegate, delegateQueue: queue, connection: .shared)
            guard session is Self else { fatalError("A background session cannot be a \(Self.self).") }
            // Just seen to be one.
            return unsafeDowncast(session, to: Self.self)
        })
    }

    /// A background session without a delegate: nobody hears of its transfers.
    public convenience init(configuration: BackgroundConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// Every task that has not ended.
    public var allTasks: [URLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in
                getAllTasks { continuation.resume(returning: $0) }
            }
        }
    }

    /// The tasks that have not ended: data, upload and download tasks.
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await withCheckedContinuation { continuation in
                getTasksWithCompletionHandler { data, uploads, downloads in
                    continuation.resume(returning: (data, uploads, downloads))
                }
            }
        }
    }
}
