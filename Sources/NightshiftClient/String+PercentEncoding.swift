import Foundation

extension String {
    /// As one part of a path, or one value of a query: everything but what RFC 3986 calls unreserved is encoded (section 2.3).
    package var percentEncoded: String { addingPercentEncoding(withAllowedCharacters: .unreserved) ?? self }
}

extension CharacterSet {
    fileprivate static let unreserved = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
}
