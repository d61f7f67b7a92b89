import GRDB

/// The reason for which a store operation failed.
package struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The disk is full, or the store is no longer writable.
        case unavailable
        case newerVersion
        case damaged
        /// The request breaks a rule, and the caller can correct it.
        case refused
        case other
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package static func noTeam(_ id: String) -> StoreError {
        StoreError(.refused, "The team '\(id)' does not exist. Add it first: nightshift-gateway team add \(id) NAME")
    }

    /// Returns the error for an object that already exists.
    ///
    /// - Parameter kind: the kind of the object, such as "team", "key" or "topic".
    package static func exists(_ kind: String, _ name: String) -> StoreError {
        StoreError(.refused, "The \(kind) '\(name)' already exists.")
    }

    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError:
            let code: Code =
                switch error.resultCode {
                case .SQLITE_FULL, .SQLITE_READONLY, .SQLITE_BUSY, .SQLITE_CANTOPEN, .SQLITE_IOERR: .unavailable
                case .SQLITE_CORRUPT, .SQLITE_NOTADB: .damaged
                case .SQLITE_CONSTRAINT: .refused
                default: .other
                }
            self.init(code, error.message ?? "\(error)")
        default: self.init(.other, "\(error)")
        }
    }

    package var description: String { message }
}
