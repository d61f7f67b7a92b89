import Foundation
import Harness
import Nightshift

// Code that works only in a file that imports Nightshift and not FoundationNetworking.

private struct Session {
    var delegate: (any URLSessionDelegate)?
    var queue: OperationQueue?
    var make: (URLSessionConfiguration, (any URLSessionDelegate)?, OperationQueue?) -> URLSession = URLSession.init
}

func alone() async {
    await situation("a delegate and a queue that are both optional variables") {
        let listener = Listener()
        let parts = Session(delegate: listener, queue: OperationQueue())
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("both-optional"))
        try await fetches(
            URLSession(configuration: configuration, delegate: parts.delegate, delegateQueue: parts.queue), listener)
    }
    await situation("a configuration of the base type as the only argument") {
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("bare"))
        let session = URLSession(configuration: configuration)
        try expect(session is BackgroundURLSession, "a \(type(of: session)) was made")
        session.invalidateAndCancel()
    }
    await situation("the initialiser as a value") {
        let listener = Listener()
        try await fetches(
            Session().make(.background(withIdentifier: Origin.identifier("value")), listener, nil), listener)
    }
}
