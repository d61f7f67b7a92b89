import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Delegates and queues in every form in which the initialiser is called.

private final class Holder {
    weak var delegate: URLSessionDelegate?
    var listener: Listener?
    var queue: OperationQueue?
}

private func settings(_ name: String) -> URLSessionConfiguration {
    .background(withIdentifier: Origin.identifier(name))
}

extension URLSession {
    fileprivate convenience init(photosFor delegate: URLSessionDelegate) {
        self.init(configuration: settings("convenience"), delegate: delegate, delegateQueue: nil)
    }

    fileprivate static func background(_ name: String, delegate: URLSessionDelegate) -> URLSession {
        URLSession(configuration: settings(name), delegate: delegate, delegateQueue: .main)
    }

    fileprivate var isForBackground: Bool { configuration.identifier != nil }
}

func sessions() async {
    await situation("an implicit member") {
        let listener = Listener()
        try await fetches(
            URLSession(
                configuration: .background(withIdentifier: Origin.identifier("implicit")), delegate: listener,
                delegateQueue: nil), listener)
    }
    await situation("an implicit initialiser") {
        let listener = Listener()
        let session: URLSession = .init(
            configuration: settings("implicit-init"), delegate: listener, delegateQueue: nil)
        try await fetches(session, listener)
    }
    await situation("the main queue") {
        let listener = Listener()
        try await fetches(
            URLSession(configuration: settings("main"), delegate: listener, delegateQueue: .main), listener)
    }
    await situation("the main queue by its name") {
        let listener = Listener()
        let session = URLSession(
            configuration: settings("main-named"), delegate: listener, delegateQueue: OperationQueue.main)
        try expect(session.delegateQueue === OperationQueue.main, "another queue")
        try await fetches(session, listener)
    }
    await situation("a queue of the app's own") {
        let queue = OperationQueue()
        queue.name = "org.example.downloads"
        queue.maxConcurrentOperationCount = 1
        let listener = Listener()
        let session = URLSession(configuration: settings("own-queue"), delegate: listener, delegateQueue: queue)
        try expect(session.delegateQueue === queue, "another queue")
        try await fetches(session, listener)
    }
    await situation("an optional queue") {
        let holder = Holder()
        holder.queue = OperationQueue()
        let listener = Listener()
        try await fetches(
            URLSession(configuration: settings("optional-queue"), delegate: listener, delegateQueue: holder.queue),
            listener)
    }
    await situation("an optional delegate") {
        let listener = Listener()
        let holder = Holder()
        holder.delegate = listener
        try await fetches(
            URLSession(configuration: settings("optional"), delegate: holder.delegate, delegateQueue: nil),
            listener)
    }
    await situation("an optional delegate of its own class, on the main queue") {
        let holder = Holder()
        holder.listener = Listener()
        let session = URLSession(
            configuration: settings("optional-class"), delegate: holder.listener, delegateQueue: .main)
        try await fetches(session, try unwrap(holder.listener, "listener"))
    }
    await situation("an unwrapped delegate") {
        let holder = Holder()
        holder.listener = Listener()
        try await fetches(
            URLSession(configuration: settings("unwrapped"), delegate: holder.listener!, delegateQueue: nil),
            try unwrap(holder.listener, "listener"))
    }
    await situation("no delegate") {
        let session = URLSession(configuration: settings("nobody"), delegate: nil, delegateQueue: nil)
        try expect(session is BackgroundURLSession, "a \(type(of: session)) was made")
        try expect(session.delegate == nil, "there is one")
        session.invalidateAndCancel()
    }
    await situation("no delegate, with a queue") {
        let session = URLSession(configuration: settings("nobody-queue"), delegate: nil, delegateQueue: .main)
        try expect(session is BackgroundURLSession, "a \(type(of: session)) was made")
        session.invalidateAndCancel()
    }
    await situation("an implicit member as the only argument") {
        let session = URLSession(configuration: .background(withIdentifier: Origin.identifier("nothing-else")))
        try expect(session is BackgroundURLSession, "a \(type(of: session)) was made")
        session.invalidateAndCancel()
    }
    await situation("a convenience initialiser in an extension of URLSession") {
        let listener = Listener()
        try await fetches(URLSession(photosFor: listener), listener)
    }
    await situation("a static method in an extension of URLSession") {
        let listener = Listener()
        let session = URLSession.background("static-method", delegate: listener)
        try expect(session.isForBackground, "it has no identifier")
        try await fetches(session, listener)
    }
    await situation("the session's own class by its name") {
        let listener = Listener()
        let holder = Holder()
        try await fetches(
            BackgroundURLSession(
                configuration: settings("named"), delegate: Optional(listener), delegateQueue: holder.queue),
            listener)
    }
    await situation("sessions that are not for the background are unchanged") {
        let listener = Listener()
        for session in [
            URLSession.shared, URLSession(configuration: .default), URLSession(configuration: .ephemeral),
            URLSession(configuration: .default, delegate: listener, delegateQueue: nil),
            URLSession(configuration: .default, delegate: nil, delegateQueue: .main),
            URLSession(configuration: .default, delegate: nil, delegateQueue: nil),
        ] {
            try expect(type(of: session) == URLSession.self, "a \(type(of: session)) was made")
            let (data, _) = try await session.data(from: Origin.file("plain"))
            try expectEqual(String(decoding: data, as: UTF8.self), Origin.text(of: "plain"))
        }
        let plain = URLSession(configuration: .default, delegate: listener, delegateQueue: nil)
        plain.downloadTask(with: Origin.file("plain-download")).resume()
        try expectEqual(try await listener.text.value(), Origin.text(of: "plain-download"))
    }
    await situation("the same identifier twice gives the same session") {
        let listener = Listener()
        let first = URLSession(configuration: settings("twice"), delegate: listener, delegateQueue: nil)
        let second = URLSession(configuration: settings("twice"), delegate: Listener(), delegateQueue: nil)
        try expect(first === second, "there are two")
        try await fetches(second, listener)
    }
}
