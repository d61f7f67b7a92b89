import Foundation
import FoundationNetworking
import Glibc
import TestSupport
import Testing

struct TestHomeTests {
    @Test func `Tests have their own home, in which Foundation stores its cookies`() throws {
        let home = try #require(ProcessInfo.processInfo.environment["NIGHTSHIFT_TEST_HOME"])
        let real = getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) }
        #expect(ProcessInfo.processInfo.environment["HOME"] == home && home != real)
        let name = "cookie-\(UUID().uuidString)"
        let cookie = try #require(
            HTTPCookie(properties: [
                .name: name, .value: "v", .domain: "127.0.0.1", .path: "/", .expires: Date() + 3_600,
            ]))
        HTTPCookieStorage.shared.setCookie(cookie)
        defer { HTTPCookieStorage.shared.deleteCookie(cookie) }
        let files = try #require(FileManager.default.enumerator(atPath: home)).compactMap { $0 as? String }
        #expect(
            files.contains {
                (try? fileBytes("\(home)/\($0)")).map { String(decoding: $0, as: UTF8.self).contains(name) } ?? false
            })
    }

    @Test func `An exit test has the home of the process that started it`() async {
        await #expect(processExitsWith: .success) {
            let environment = ProcessInfo.processInfo.environment
            let home = try #require(environment["NIGHTSHIFT_TEST_HOME"])
            #expect(environment["HOME"] == home)
            #expect(FileManager.default.fileExists(atPath: home))
        }
    }
}
