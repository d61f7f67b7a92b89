import Foundation
import HTTPTypes
import NightshiftAPI
import Testing

@testable import LocalAPI

@Suite struct RequestDecodingTests {
    private static let decoder = RequestDecoder()
    private let routes = [
        Route(.post, "/tasks") { call in
            try Reply.json(try await decoder.decode(EnqueueRequest.self, from: call.request)).response
        },
        Route(.post, "/cancel") { call in
            let request = try await decoder.decodeIfPresent(CancelRequest.self, from: call.request)
            return try Reply.json(request?.producingResumeData).response
        },
    ]

    struct Case: Sendable, CustomTestStringConvertible {
        var body: String
        var pointer: String?
        var words: String
        var testDescription: String { String(body.prefix(60)) }
    }

    @Test(arguments: [
        Case(body: "", pointer: nil, words: "needs a JSON body"),
        Case(body: "{", pointer: nil, words: "is not JSON"),
        Case(body: "{\"tasks\":[]}x", pointer: nil, words: "is not JSON"),
        Case(body: "null", pointer: "", words: "an object"),
        Case(body: "[]", pointer: "", words: "an object"),
        Case(body: "\u{FEFF}{}", pointer: nil, words: "UTF-8"),
        Case(body: "{}", pointer: "/tasks", words: "'tasks' is missing"),
        Case(body: "{\"tasks\":{}}", pointer: "/tasks", words: "an array"),
        Case(body: "{\"tasks\":[1]}", pointer: "/tasks/0", words: "an object"),
        Case(body: "{\"tasks\":[{},{\"url\":1}]}", pointer: "/tasks/1/url", words: "a string"),
        Case(body: "{\"tasks\":[{\"kind\":\"x\"}]}", pointer: "/tasks/0/kind", words: "'download', 'upload'"),
        Case(body: "{\"tasks\":[{\"priority\":\"1\"}]}", pointer: "/tasks/0/priority", words: "a number"),
        Case(body: "{\"tasks\":[{\"rateLimit\":1.5}]}", pointer: "/tasks/0/rateLimit", words: "1.5"),
        Case(body: "{\"tasks\":[{\"suspended\":1}]}", pointer: "/tasks/0/suspended", words: "true or false"),
        Case(
            body: "{\"tasks\":[{\"earliestBeginDate\":\"x\"}]}", pointer: "/tasks/0/earliestBeginDate",
            words: "a time"),
        Case(
            body: "{\"tasks\":[{\"headers\":[{\"name\":\"a\"}]}]}", pointer: "/tasks/0/headers/0/value",
            words: "'value' is missing"),
        Case(body: "{\"tasks\":[],\"x\":1}", pointer: "/x", words: "'x' is unknown"),
        Case(body: "{\"tasks\":[{\"urll\":1}]}", pointer: "/tasks/0/urll", words: "'urll' is unknown"),
        Case(body: "{\"tasks\":[{\"a/b~\\\"c\":1}]}", pointer: "/tasks/0/a~1b~0\"c", words: "unknown"),
        Case(
            body: "{ \"tasks\" : [ { \"description\" : \"}],\\\"\" } , { \"tls\" : { \"x\" : { \"y\" : [ ] } } } ] }",
            pointer: "/tasks/1/tls/x", words: "Known keys: certificateAuthority"),
        Case(
            body: "{\"tasks\":[{\"destination\":{\"directory\":\"/\",\"file\":\"x\"}}]}",
            pointer: "/tasks/0/destination/file", words: "Known keys: directory, filename, ifTaken, overwrite, umask"),
        Case(
            body: "{\"tasks\":[{\"tls\":{\"minimumVersion\":\"1.1\"}}]}", pointer: "/tasks/0/tls/minimumVersion",
            words: "'1.2', '1.3'"),
        Case(body: "{\"tasks\":[],\"tasks\":[{}]}", pointer: "/tasks", words: "given twice"),
        Case(body: "{\"tasks\":[],\"t\\u0061sks\":[{}]}", pointer: "/tasks", words: "given twice"),
        Case(
            body: "{\"tasks\":[{\"url\":\"http://a/\",\"url\":\"http://b/\"}]}", pointer: "/tasks/0/url",
            words: "given twice"),
        Case(
            body: "{\"tasks\":[{\"tls\":{\"clientKey\":\"/a\",\"clientKey\":null}}]}",
            pointer: "/tasks/0/tls/clientKey",
            words: "given twice"),
        Case(body: "{\"tasks\":" + String(repeating: "[", count: 20_000) + "}", pointer: nil, words: "is not JSON"),
    ])
    func `The error about a body that cannot be decoded contains the position`(_ example: Case) async throws {
        let answer = try await withServer(routes: routes) { try await $0.request("POST", "/tasks", body: example.body) }
        #expect(answer.status == 400)
        let problem = try answer.problem
        #expect(problem.pointer == example.pointer)
        #expect(problem.detail?.contains(example.words) == true, "\(problem.detail ?? "")")
    }

    @Test func `Keys may be escaped, and values may be null`() async throws {
        let body = "{\"t\\u0061sks\":[{\"url\":\"http://a/\",\"checksum\":null,\"destination\":null}],\"session\":null}"
        let answer = try await withServer(routes: routes) { try await $0.request("POST", "/tasks", body: body) }
        #expect(try answer.decode(EnqueueRequest.self).tasks.map(\.url) == ["http://a/"])
    }

    @Test(arguments: [nil, "text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
    func `The service refuses a body with another content type`(type: String?) async throws {
        let answer = try await withServer(routes: routes) { server in
            let client = try server.client()
            let field = type.map { "Content-Type: \($0)\r\n" } ?? ""
            try await client.send(
                "POST /tasks HTTP/1.1\r\nHost: localhost\r\n\(field)Content-Length: 2\r\n\r\n{}")
            return try await client.answer()
        }
        #expect(answer.status == 415)
        #expect(try answer.problem.type == "/problems/unsupported-media-type")
    }

    @Test(arguments: ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"])
    func `The JSON content type may have parameters and any case`(type: String) async throws {
        let body = "{\"producingResumeData\":true}"
        let answer = try await withServer(routes: routes) {
            try await $0.request("POST", "/cancel", headers: ["Content-Type": type], body: body)
        }
        #expect(answer.text == "true")
    }

    @Test func `A client may omit an optional body`() async throws {
        try await withServer(routes: routes) { server in
            let none = try await server.request("POST", "/cancel")
            #expect(none.text == "null")
            let empty = try await server.request("POST", "/cancel", headers: ["Content-Length": "0"])
            #expect(empty.text == "null")
        }
    }

    @Test(arguments: ["", "Content-Type: application/json\r\n"])
    func `B1: An optional body may be empty in a chunked request`(type: String) async throws {
        let answer = try await withServer(routes: routes) { server in
            let client = try server.client()
            try await client.send(
                "POST /cancel HTTP/1.1\r\nHost: localhost\r\n\(type)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
            return try await client.answer()
        }
        #expect(answer.status == 200 && answer.text == "null", "\(answer.text)")
    }

    @Test(arguments: [
        (#"{"session":"a\u0000b","tasks":[]}"#, "/session"),
        (#"{"tasks":[{"url":"http://a/","description":"\\\u0000"}]}"#, "/tasks/0/description"),
    ])
    func `B1: The service refuses strings with NUL, which the database would truncate`(
        body: String, pointer: String
    ) async throws {
        let answer = try await withServer(routes: routes) { try await $0.request("POST", "/tasks", body: body) }
        #expect(answer.status == 422, "\(answer.text)")
        #expect(try answer.problem.pointer == pointer)
    }

    @Test func `B1: An escaped backslash before the text u0000 is accepted`() async throws {
        let body = #"{"tasks":[],"session":"a\\u0000"}"#
        let answer = try await withServer(routes: routes) { try await $0.request("POST", "/tasks", body: body) }
        #expect(try answer.decode(EnqueueRequest.self).session == SessionID(rawValue: #"a\u0000"#))
    }
}
