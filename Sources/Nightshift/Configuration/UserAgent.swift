import CNightshift
import Foundation
import NightshiftAPI

/// The field `User-Agent` of requests that have none of their own, as Foundation makes it: of the app's name, its version and the library
/// that sends. On Apple's systems that is `Photos/12 CFNetwork/… Darwin/…`, and FoundationNetworking's is
/// `Photos (unknown version) curl/…`. The service's own name follows.
enum UserAgent {
    /// The agent of this process. The version is the bundle's, where the program has an `Info.plist` beside it.
    static let own = value(
        name: ProcessInfo.processInfo.processName,
        version: Bundle.main.infoDictionary?["CFBundleVersion"] as? String,
        curl: curl_version_info(CURLVERSION_FIRST)?.pointee.version.map { String(cString: $0) })

    static func value(name: String, version: String?, curl: String?) -> String {
        let version = version.map(token) ?? ""
        let app = version.isEmpty ? "\(token(name)) (unknown version)" : "\(token(name))/\(version)"
        let curl = curl.map { " curl/\($0)" } ?? ""
        return "\(app)\(curl) nightshift/\(NightshiftVersion.current)"
    }

    /// The name as a token (RFC 9110, section 5.6.2). Apple's systems escape other characters in the same way:
    /// `My%20App`.
    private static func token(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: tokenCharacters) ?? ""
    }

    private static let tokenCharacters = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~")
}
