import Foundation
import Testing

@testable import Aria2Bridge

/// B7: JSON-RPC and XML-RPC.
@Suite struct FormatTests {
    private static func message(_ text: String) -> JSONRPC.Message { JSONRPC.message(Data(text.utf8)) }

    private static func failed(_ id: RPCValue, _ error: RPCError) -> JSONRPC.Message {
        .single(JSONRPC.Request(id: id, call: .failure(error)))
    }

    @Test func `A request needs an id and a method, and its parameters are a list`() {
        let call = RPCCall(method: "m", parameters: ["a", .integer(1), .bool(true), .null, .number(1.5)])
        #expect(
            Self.message(#"{"id":7,"method":"m","params":["a",1,true,null,1.5]}"#)
                == .single(JSONRPC.Request(id: .integer(7), call: .success(call))))
        #expect(Self.message("{") == Self.failed(.null, .parse))
        #expect(Self.message("4x") == Self.failed(.null, .parse))
        #expect(Self.message(#"{"method":"m"}"#) == Self.failed(.null, .invalidRequest))
        #expect(Self.message(#"{"id":"1"}"#) == Self.failed("1", .invalidRequest))
        #expect(Self.message(#"{"id":"1","method":"m","params":{}}"#) == Self.failed("1", .invalidParameters))
    }

    @Test func `A batch keeps its order, and leaves out what is not an object`() {
        guard case .batch(let requests) = Self.message(#"[{"id":1,"method":"a"},3,{"id":2}]"#) else {
            Issue.record("This is not a batch.")
            return
        }
        #expect(requests.map(\.id) == [.integer(1), .integer(2)])
    }

    @Test func `JSON nested more deeply than the parser allows is a parse error`() {
        let text = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(Self.message(text) == Self.failed(.null, .parse))
    }

    @Test func `A query has its parameters in Base64`() {
        let parameters = Data(#"["a"]"#.utf8).base64EncodedString()
        #expect(
            JSONRPC.message(query: ["id": "x", "method": "m", "params": parameters])
                == .single(JSONRPC.Request(id: "x", call: .success(RPCCall(method: "m", parameters: ["a"])))))
        #expect(JSONRPC.message(query: ["method": "m"]) == Self.failed(.null, .invalidRequest))
        #expect(
            JSONRPC.message(query: ["id": "x", "method": "m", "params": "!"]) == Self.failed(.null, .invalidRequest))
    }

    private static func call(_ value: String) -> RPCCall? {
        let text =
            "<?xml version=\"1.0\"?><methodCall><methodName>m</methodName><params><param><value>\(value)</value>"
            + "</param></params></methodCall>"
        return XMLRPC.call(Array(text.utf8))
    }

    @Test(
        arguments: [
            ("<string>a &amp; b</string>", "a & b"), ("bare", "bare"), ("<i4>5</i4>", .integer(5)),
            ("<int>-5</int>", .integer(-5)), ("<base64>aGk=</base64>", "hi"), ("<boolean>1</boolean>", .bool(true)),
            ("<array><data><value>x</value></data></array>", ["x"]),
            ("<struct><member><name>k</name><value>v</value></member></struct>", ["k": "v"]),
        ] as [(String, RPCValue)])
    func `XML-RPC values are read`(text: String, expected: RPCValue) {
        #expect(Self.call(text)?.parameters == [expected])
    }

    @Test(arguments: [
        "", "<x", "<methodCall></methodCall>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><methodCall><methodName>&e;</methodName></methodCall>",
        "<!DOCTYPE a [<!ENTITY e \"m\">]><methodCall><methodName>&e;</methodName></methodCall>",
        String(repeating: "<methodCall>", count: 100_000),
    ])
    func `Documents that are not calls are refused, and so are declarations of entities`(text: String) {
        #expect(XMLRPC.call(Array(text.utf8)) == nil)
    }

    @Test func `Text in a response of XML-RPC is escaped`() {
        let text = String(decoding: XMLRPC.response(.success("<&>\u{1}\r")), as: UTF8.self)
        #expect(text.contains("<string>&lt;&amp;&gt;\u{FFFD}&#13;</string>"), "\(text)")
    }
}
