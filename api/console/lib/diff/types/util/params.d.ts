export declare function generateOptions(options: {
    [key: string]: any;
} | ((_: unknown) => void), defaults: any): object;
//# sourceMappingURL=params.d.ts.map