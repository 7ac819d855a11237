export declare function arrayEqual(a: any[], b: any[]): boolean;
export declare function arrayStartsWith(array: any[], start: any[]): boolean;
//# sourceMappingURL=array.d.ts.map