import Foundation
import Synchronization

/// A dispatcher that parses messages of clients, performs their calls, and writes the responses.
struct CallDispatcher: Sendable {
    let bridge: Bridge

    /// A response: its body, and its status if it is sent over HTTP.
    struct Response: Sendable {
        var body: Data
        var status = 200
        /// Whether the program has to end once this response is written.
        var endsProgram = false
    }

    /// Answers a JSON-RPC message. The calls of a batch are performed in their order.
    ///
    /// - Parameter deliver: called once, before notifications of what the calls have changed.
    func answer(_ message: JSONRPC.Message, deliver: @escaping @Sendable (Response) -> Void) async {
        switch message {
        case .single(let request):
            await perform([request]) { results, endsProgram in
                let body = JSONRPC.text(JSONRPC.response(request.id, results[0]))
                let status = if case .failure(let error) = results[0] { error.httpStatus } else { 200 }
                deliver(Response(body: body, status: status, endsProgram: endsProgram))
            }
        case .batch(let requests):
            await perform(requests) { results, endsProgram in
                let responses = zip(requests, results).map { JSONRPC.response($0.id, $1) }
                deliver(Response(body: JSONRPC.text(.array(responses)), endsProgram: endsProgram))
            }
        }
    }

    /// Performs the calls of requests. A request that is not valid has its error as its result.
    private func perform(
        _ requests: [JSONRPC.Request],
        deliver: @escaping @Sendable (_ results: [Result<RPCValue, RPCError>], _ endsProgram: Bool) -> Void
    ) async {
        let calls = requests.compactMap { try? $0.call.get() }
        await bridge.perform(calls) { results, endsProgram in
            var rest = results[...]
            deliver(
                requests.map { request in
                    if case .failure(let error) = request.call { return .failure(error) }
                    return rest.removeFirst()
                }, endsProgram)
        }
    }

    /// Answers a JSON-RPC message.
    func answer(_ message: JSONRPC.Message) async -> Response {
        let response = Mutex<Response?>(nil)
        await answer(message) { delivered in response.withLock { $0 = delivered } }
        return response.withLock { $0 } ?? Response(body: Data())
    }

    /// Answers a call of XML-RPC. Returns nil if the document is not a call.
    func answer(xml document: [UInt8]) async -> Response? {
        guard let call = XMLRPC.call(document) else { return nil }
        let response = Mutex(Response(body: Data()))
        await bridge.perform([call]) { results, endsProgram in
            response.withLock { $0 = Response(body: XMLRPC.response(results[0]), endsProgram: endsProgram) }
        }
        return response.withLock { $0 }
    }
}
