import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of the values that apps and providers send with notifications.
@Suite struct UserInfoTests {
    @Test func `R3: userInfo accepts property-list types and returns them unchanged`() async throws {
        let world = try World()
        let date = Date(timeIntervalSince1970: 1_790_000_000.5)
        let values: [AnyHashable: Any] = [
            "date": date, "data": Data([0, 255]), "list": [1, 2.5, true, "x"] as [Any], "nested": ["date": date],
            "infinite": Double.infinity,
        ]
        let content = UNMutableNotificationContent()
        content.body = "Body"
        content.userInfo = values
        let center = UNUserNotificationCenter(connection: world.process().connection)
        try await center.add(UNNotificationRequest(identifier: "one", content: content, trigger: nil))
        let sent = try #require(world.service.state.read { $0.push.added.first?.notification })
        let found = UNNotificationContent(sent).userInfo
        #expect((found as NSDictionary) == (values as NSDictionary))
        // In this notification, the member that marks a property list belongs to the app.
        for member in [["nightshift.propertyList": "text"], [:], ["a": "b"]] {
            let json = try #require(UserInfo.json(member))
            #expect(UserInfo.local(json) as? [String: String] == member)
        }
        // A provider's payload is never read as a property list.
        var remote = sent
        remote.isRemote = true
        #expect(UNNotificationContent(remote).userInfo.keys.first as? String == "nightshift.propertyList")
        #expect(UserInfo.json([1: "a"]) == nil && UserInfo.json(["a": NSNull(), "b": Date()]) == nil)
    }
}
