import NightshiftAPI
import Store

/// The request of a task that continues an earlier one.
extension TaskRequest {
    /// Returns the task that the resume data belongs to; nil without resume data.
    func source(among sources: [String: TaskRecord], _ pointer: String) throws(Problem) -> TaskRecord? {
        guard let resumeData else { return nil }
        guard let source = sources[resumeData] else {
            throw .invalid(
                "The resume data is unknown to this service, or was already used.", pointer: "\(pointer)/resumeData")
        }
        guard source.kind == kind else {
            throw .invalid(
                "The resume data belongs to another kind of transfer (\(source.kind.rawValue)).",
                pointer: "\(pointer)/resumeData")
        }
        return source
    }

    /// Returns the request, with missing fields filled in from the task that it continues.
    func continuing(_ source: TaskRecord?) -> TaskRequest {
        guard let old = source?.request.moved(to: url) else { return self }
        var request = self
        request.url = old.url
        request.connections = connections ?? old.connections
        request.mirrors = mirrors ?? old.mirrors
        request.headers = headers ?? old.headers
        request.credential = credential ?? ownCredential ?? old.credential
        request.destination = destination ?? old.destination
        if self.source == nil, form == nil {
            request.source = old.source
            request.form = old.form
            request.method = method ?? old.method
        }
        request.resumption = resumption ?? old.resumption
        request.snapshot = snapshot ?? old.snapshot
        request.checksum = checksum ?? old.checksum
        request.handlesCookies = handlesCookies ?? old.handlesCookies
        request.proxy = proxy ?? old.proxy
        request.proxyVariable = proxy == nil ? old.proxyVariable : proxyVariable
        request.tls = tls ?? old.tls
        request.isDiscretionary = isDiscretionary ?? old.isDiscretionary
        request.yields = yields ?? old.yields
        request.allowsCellularAccess = allowsCellularAccess ?? old.allowsCellularAccess
        request.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess ?? old.allowsExpensiveNetworkAccess
        request.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess ?? old.allowsConstrainedNetworkAccess
        request.requiresExternalPower = requiresExternalPower ?? old.requiresExternalPower
        request.minimumBattery = minimumBattery ?? old.minimumBattery
        request.resumeData = nil
        return request
    }
}
