/// The error of a call, as clients of aria2 receive it.
struct RPCError: Error, Hashable, Sendable {
    var code: Int64
    var message: String

    /// Creates an error of aria2's own kind. aria2 uses the code 1 for all of them.
    init(_ message: String, code: Int64 = 1) {
        self.code = code
        self.message = message
    }

    // The codes of JSON-RPC 2.0, section 5.1.
    static let parse = RPCError("Parse error.", code: -32_700)
    static let invalidRequest = RPCError("Invalid Request.", code: -32_600)
    static let invalidParameters = RPCError("Invalid params.", code: -32_602)
    static let unauthorized = RPCError("Unauthorized")

    /// The status of an HTTP response with this error alone.
    var httpStatus: Int { code == Self.parse.code || code == Self.invalidParameters.code ? 500 : 400 }

    /// The error as a member of a JSON-RPC response.
    var value: RPCValue { ["code": .integer(code), "message": .string(message)] }

    /// Returns the error as a member of the result of `system.multicall`.
    func value(in format: RPCCall.Format) -> RPCValue { format == .xml ? fault : value }

    /// The error as a fault of XML-RPC.
    var fault: RPCValue { ["faultCode": .integer(code), "faultString": .string(message)] }
}
