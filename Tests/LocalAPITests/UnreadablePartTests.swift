import Foundation
import NightshiftAPI
import NightshiftClient
import Testing

/// Tests that an element that a client cannot read does not hide the other elements of its list.
@Suite struct UnreadablePartTests {
    private func list(_ edit: (inout [String: JSONValue]) -> Void) throws -> Data {
        let apps = try ["a", "b", "c"].map { name in
            var app = AppStatus(
                id: AppID(rawValue: name), name: name, state: .notRunning,
                background: BackgroundStatus(policy: .opportunistic, policySource: .device))
            app.manifest = AppManifest(id: app.id, name: name, entry: "/\(name)", command: [name])
            app.manifest?.fetchInterval = .seconds(900)
            return try JSON.decode([String: JSONValue].self, from: JSON.encode(app))
        }
        var edited = apps
        edit(&edited[1])
        return try JSON.encode(["apps": edited])
    }

    @Test func `B1: A client omits an unreadable optional value and reports its name`()
        throws
    {
        let data = try list { app in
            var manifest = app["manifest"]?.object ?? [:]
            manifest["fetchInterval"] = "one in a blue moon"
            app["manifest"] = .object(manifest)
        }
        let (list, unreadable) = try JSON.decodeReadable(AppList.self, from: data)
        #expect(list.apps.map(\.id.rawValue) == ["a", "b", "c"])
        #expect(list.apps.map(\.manifest?.fetchInterval) == [.seconds(900), nil, .seconds(900)])
        #expect(unreadable.map(\.path) == [["apps", "b", "manifest", "fetchInterval"]])
        #expect(unreadable.first?.reason.contains("seconds up to one year") == true)
        #expect(try Endpoint.apps.answer(from: data).apps.count == 3)
    }

    @Test func `B1: A client skips an element with an unreadable required value and reports the error`()
        throws
    {
        let data = try list { $0["faults"] = "many" }
        let (list, unreadable) = try JSON.decodeReadable(AppList.self, from: data)
        #expect(list.apps.map(\.id.rawValue) == ["a", "c"])
        #expect(unreadable.map(\.path) == [["apps", "b"]])
        #expect(unreadable.first?.reason.isEmpty == false)
        #expect(unreadable.first?.reason.contains("is missing") == false)
    }

    @Test func `B1: A response that the client cannot read at all is an error`() {
        #expect(throws: ServiceUnusable.self) { try Endpoint.apps.answer(from: Data("[]".utf8)) }
        #expect(throws: ServiceUnusable.self) { try Endpoint.apps.answer(from: Data("{".utf8)) }
    }

    @Test func `B1: A client reads the response to a change completely or not at all`() throws {
        let data = Data(#"{"ids":[1,"x"]}"#.utf8)
        let endpoint = Endpoint.enqueue(EnqueueRequest(session: nil, app: nil, tasks: []))
        #expect(throws: ServiceUnusable.self) { try endpoint.answer(from: data) }
    }
}
