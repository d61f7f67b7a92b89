/// A call of a method, whatever format it arrived in.
struct RPCCall: Hashable, Sendable {
    var method: String
    /// The list of parameters. A client may send something else, which ``Parameters`` refuses.
    var parameters: RPCValue
    var format = Format.json

    enum Format: Sendable {
        case json
        case xml
    }
}
